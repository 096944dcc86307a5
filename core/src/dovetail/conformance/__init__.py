"""The conformance kit: proves, from the declarations alone, what a device can do.

`dovetail conformance --device acme:0` runs it, and so does
`pytest --pyargs dovetail.conformance --dovetail-device=acme:0`.
"""
