package exec_test

func becomeManager() {}
