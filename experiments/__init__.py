"""The paper's tables and figures, made again with fixedfleet.

``python -m experiments NAME`` runs what a table lacks and writes it to ``results/``.
Importing this package registers the Attention Model as a method of ``evaluate``.
"""

import experiments.attention_model  # noqa: F401  # registers am-greedy and am-sampling
