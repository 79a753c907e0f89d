"""Tiny tensors want one thread."""

import torch

torch.set_num_threads(1)
