package main

var ledgerListEntry = Entry{
	Path:     "ledger list",
	Group:    groupTeam,
	Summary:  "The same as teams ledger",
	Examples: []string{"teams ledger list", "teams ledger list --limit 5"},
	New:      func() Command { return new(ledgerCmd) },
}
