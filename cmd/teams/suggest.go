package main

import "strings"

// nearest returns the path of the visible command that word below path was
// probably meant for, "" when nothing is near.
func nearest(path, word string) string {
	if word == "" {
		return ""
	}
	if s := synonym(path, word); s != "" && lookup(s) != nil {
		return s
	}
	best, bestCost := "", max(2, len(word)/3)+1
	for _, c := range children(path) {
		rest := strings.TrimPrefix(strings.TrimPrefix(c.Path, path), " ")
		first, _, more := strings.Cut(rest, " ")
		last := rest[strings.LastIndexByte(rest, ' ')+1:]
		cost := distance(word, first)
		switch {
		case last == word:
			cost = 0 // "add" for "task add"
		case len(word) >= 2 && strings.HasPrefix(first, word):
			cost = min(cost, 1)
		}
		if cost < bestCost {
			best, bestCost = c.Path, cost
			if more && last != word {
				best = strings.TrimSpace(path + " " + first)
			}
		}
	}
	return best
}

// synonym knows what other tools call our verbs.
func synonym(path, word string) string {
	if path != "" {
		return ""
	}
	switch word {
	case "ls", "tasks", "board", "ps":
		return "list"
	case "take", "next", "pick":
		return "claim"
	case "done", "finish", "complete", "close":
		return "submit"
	case "msg", "message", "mail", "tell":
		return "send"
	case "kill", "stop", "end":
		return "shutdown"
	case "start", "launch", "new":
		return "spawn"
	case "create":
		return "task add"
	case "ready":
		return "task list"
	case "init":
		return "where"
	}
	return ""
}

// distance is the number of letters to insert, drop or change, or of
// neighbours to swap, to make b of a.
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
