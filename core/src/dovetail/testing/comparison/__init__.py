"""Running one training step on two devices and finding where they part.

`run` does so; `shadow` sees each op call and repeats it on the other device;
`inputs` takes its inputs along, `values` judges its results, `sensitivity` says how
exact they can be; `call_sites` knows where in the program a call is; `report` words
what was found, and `reproduction` writes it down, for `rerun`.
"""
