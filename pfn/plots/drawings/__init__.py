"""Drawings of networks, state machines, hierarchies and regular expressions: on matplotlib axes, or as Graphviz DOT."""
