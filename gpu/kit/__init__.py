"""The steps of gpu/run, and what they share. Standard library only; what needs PyTorch is in
the programs, which run as processes of their own."""
