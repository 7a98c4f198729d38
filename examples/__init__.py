"""Programs that show girih at work.

* ``python -m examples.demo`` (``make demo``): a vision transformer trained on digits,
  with eager and with girih.
* ``python -m examples.inference`` (``make demo-inference``): the trained transformer
  and a GPT-2-sized decoder, compiled and compared with eager.
* ``digits`` holds the data set, the vision transformer and its training.
"""
