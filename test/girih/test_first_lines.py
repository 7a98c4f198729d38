"""``girih.run`` of a file whose first line ends anywhere in a pipeline."""

import pytest
import torch

import girih
from girih.passes import stages

GRAPH = """module {
  func.func @main(%arg0: tensor<5x6xf32>) -> tensor<5x6xf32> {
    %0 = graph.exp %arg0 : tensor<5x6xf32>
    return %0 : tensor<5x6xf32>
  }
}
"""
STAGES = [*stages.INFERENCE, *stages.CPU.launch, *stages.CPU.kernels]


@pytest.mark.parametrize("count", range(1, len(STAGES) + 1))
def test_the_rest_of_the_pipeline_runs(count):
    passes = ",".join(stage.passes for stage in STAGES[:count])
    line = f"// RUN pipeline: girih-opt --pass-pipeline='{passes}' %s\n"
    x = torch.randn(5, 6)
    torch.testing.assert_close(girih.run(line + GRAPH, x), x.exp())
