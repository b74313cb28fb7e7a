"""Who may do what: rules, and the decision they make; without sockets, logs and clocks."""
