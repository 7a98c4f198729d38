"""Layers and models of torch_geometric over a small random graph."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch_geometric import nn as geometric

from breadth.model import Call, Model, integers, normal

SIZES = ((50, 200), (60, 260), (40, 150))
"""Nodes and edges."""
WIDTH = 16


def _graph(nodes: int, edges: int) -> Call:
    return (normal(nodes, WIDTH), integers(0, nodes, 2, edges)), {}


def _weighted(nodes: int, edges: int) -> Call:
    weights = normal(edges, seed=3).sigmoid()
    return (normal(nodes, WIDTH), integers(0, nodes, 2, edges), weights), {}


def _with_attributes(width: int) -> Callable[[int, int], Call]:
    def inputs(nodes: int, edges: int) -> Call:
        args, _ = _graph(nodes, edges)
        return args, {"edge_attr": normal(edges, width, seed=3).sigmoid()}

    return inputs


def _typed(nodes: int, edges: int) -> Call:
    args, _ = _graph(nodes, edges)
    return (*args, integers(0, 3, edges, seed=3)), {}


def _with_start(nodes: int, edges: int) -> Call:
    x, edges_ = _graph(nodes, edges)[0]
    return (x, normal(nodes, WIDTH, seed=3), edges_), {}


def _points(nodes: int, edges: int) -> Call:
    return (
        normal(nodes, WIDTH),
        normal(nodes, 3, seed=3),
        integers(0, nodes, 2, edges),
    ), {}


def _surface(nodes: int, edges: int) -> Call:
    args, _ = _points(nodes, edges)
    return (*args[:2], normal(nodes, 3, seed=4), args[2]), {}


def _dense(nodes: int, _: int) -> Call:
    adjacency = (normal(2, nodes, nodes) > 1).float()
    return (normal(2, nodes, WIDTH), adjacency), {}


class Classifier(nn.Module):
    """Graphs of a batch to one vector each."""

    def __init__(self):
        super().__init__()
        self.layers = geometric.GIN(WIDTH, 32, 2)
        self.norm = geometric.GraphNorm(32)
        self.out = nn.Linear(64, 4)

    def forward(self, x, edges):
        batch = torch.arange(len(x), device=x.device) // 10
        x = self.norm(self.layers(x, edges), batch)
        pooled = [
            geometric.global_mean_pool(x, batch, 6),
            geometric.global_max_pool(x, batch, 6),
        ]
        return self.out(torch.cat(pooled, 1))


def _mlp(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs))


G = geometric
DEGREES = torch.ones(10)
MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int, int], Call]]] = {
    "agnn": (lambda: G.AGNNConv(), _graph),
    "antisymmetric": (lambda: G.AntiSymmetricConv(WIDTH), _graph),
    "appnp": (lambda: G.APPNP(3, 0.1), _graph),
    "arma": (lambda: G.ARMAConv(WIDTH, 32), _graph),
    "cg": (lambda: G.CGConv(WIDTH, 4, batch_norm=True), _with_attributes(4)),
    "cheb": (lambda: G.ChebConv(WIDTH, 32, 3), _graph),
    "classifier": (Classifier, _graph),
    "cluster_gcn": (lambda: G.ClusterGCNConv(WIDTH, 32), _graph),
    "dense_gcn": (lambda: G.DenseGCNConv(WIDTH, 32), _dense),
    "dense_gin": (lambda: G.DenseGINConv(_mlp(WIDTH, 32)), _dense),
    "dense_sage": (lambda: G.DenseSAGEConv(WIDTH, 32), _dense),
    "edge": (lambda: G.EdgeCNN(WIDTH, 32, 2), _graph),
    "eg": (lambda: G.EGConv(WIDTH, 32), _graph),
    "fa": (lambda: G.FAConv(WIDTH), _with_start),
    "feast": (lambda: G.FeaStConv(WIDTH, 32), _graph),
    "film": (lambda: G.FiLMConv(WIDTH, 32), _graph),
    "gat": (lambda: G.GAT(WIDTH, 32, 2), _graph),
    "gated_graph": (lambda: G.GatedGraphConv(WIDTH, 3), _graph),
    "gatv2": (lambda: G.GATv2Conv(WIDTH, 32, edge_dim=4), _with_attributes(4)),
    "gcn": (lambda: G.GCN(WIDTH, 32, 2), _graph),
    "gcn2": (lambda: G.GCN2Conv(WIDTH, 0.1), _with_start),
    "gen": (lambda: G.GENConv(WIDTH, 32), _graph),
    "general": (lambda: G.GeneralConv(WIDTH, 32), _graph),
    "gin": (lambda: G.GIN(WIDTH, 32, 2), _graph),
    "gine": (lambda: G.GINEConv(_mlp(WIDTH, 32), edge_dim=4), _with_attributes(4)),
    "gmm": (lambda: G.GMMConv(WIDTH, 32, 2, 3), _with_attributes(2)),
    "gps": (lambda: G.GPSConv(WIDTH, G.GINConv(_mlp(WIDTH, WIDTH)), 2), _graph),
    "graph": (lambda: G.GraphConv(WIDTH, 32), _weighted),
    "graph_unet": (lambda: G.GraphUNet(WIDTH, 32, 8, 2), _graph),
    "hypergraph": (lambda: G.HypergraphConv(WIDTH, 32), _graph),
    "le": (lambda: G.LEConv(WIDTH, 32), _graph),
    "mf": (lambda: G.MFConv(WIDTH, 32), _graph),
    "mixhop": (lambda: G.MixHopConv(WIDTH, 32), _graph),
    "nn": (lambda: G.NNConv(WIDTH, 8, _mlp(4, WIDTH * 8)), _with_attributes(4)),
    "pdn": (lambda: G.PDNConv(WIDTH, 32, 4, 8), _with_attributes(4)),
    "pna": (
        lambda: G.PNA(
            WIDTH,
            32,
            2,
            aggregators=["mean", "max", "std"],
            scalers=["identity", "amplification"],
            deg=DEGREES,
        ),
        _graph,
    ),
    "point_net": (lambda: G.PointNetConv(_mlp(WIDTH + 3, 32)), _points),
    "point_transformer": (lambda: G.PointTransformerConv(WIDTH, 32), _points),
    "ppf": (lambda: G.PPFConv(_mlp(WIDTH + 4, 32)), _surface),
    "res_gated": (lambda: G.ResGatedGraphConv(WIDTH, 32), _graph),
    "rgat": (lambda: G.RGATConv(WIDTH, 32, 3), _typed),
    "rgcn": (lambda: G.RGCNConv(WIDTH, 32, 3), _typed),
    "sage": (lambda: G.GraphSAGE(WIDTH, 32, 2), _graph),
    "sg": (lambda: G.SGConv(WIDTH, 32, 2), _graph),
    "ssg": (lambda: G.SSGConv(WIDTH, 32, 0.1, 2), _graph),
    "super_gat": (lambda: G.SuperGATConv(WIDTH, 32), _graph),
    "tag": (lambda: G.TAGConv(WIDTH, 32), _graph),
    "transformer": (lambda: G.TransformerConv(WIDTH, 32, 2), _graph),
}
NAMES = tuple(MODELS)


def build(name: str) -> Model:
    """The layer or model of that name."""
    make, inputs = MODELS[name]
    return Model(make(), inputs, SIZES)
