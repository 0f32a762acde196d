package sim

// allTransitions are all the roles that a machine takes on, with the reasons for it.
var allTransitions = []string{}
