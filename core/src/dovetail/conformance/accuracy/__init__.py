"""How exact every op is on a device: errors in ulp, beside torch's."""
