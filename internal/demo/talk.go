package demo

import "github.com/seed6990a682/teams/internal/errs"

// talk has one worker ask another, get the reply, and report to the leader.
func (p *play) talk() error {
	const (
		answers = `eval "$(teams join eve --pid $$)"; echo eve waits for mail; teams recv --wait --timeout 30s; ` +
			`teams reply "$(teams inbox --open -q)" "Yes, it says what is new."`
		asks = `eval "$(teams join dora --pid $$)"; teams send eve --expects-reply --wait --timeout 30s "Does NOTES read well?" && ` +
			`teams send leader --status completed "The release is ready, and eve has read NOTES."`
	)
	eve, err := p.start("Workers talk through mailboxes. eve waits for mail, and answers what it is asked.", "sh -c '"+answers+"' &", "sh", "-c", answers)
	if err != nil {
		return err
	}
	if err := eve.printed(p.ctx, "waits for mail"); err != nil {
		return err
	}
	step, err := p.run("dora asks eve, waits for the reply, and reports to the leader.", "sh -c '"+asks+"'")
	if err != nil {
		return err
	}
	if step.ExitCode != 0 {
		return errs.New(errs.Failure, "dora got no reply: exit status %d", step.ExitCode)
	}
	if err := eve.ended(p.ctx); err != nil {
		return err
	}
	return p.all(line{"The leader reads its mail.", "teams recv"})
}

// message is what is read of a message.
type message struct {
	From    string `json:"from"`
	Status  string `json:"status"`
	ReplyTo string `json:"replyTo"`
}

// talked reports whether the reply and the report lie where they belong.
func (p *play) talked() (replied, reported bool, err error) {
	var dora, leader struct{ Messages []message }
	if err := p.ask(&dora, "inbox", "--all", "--as", "dora"); err != nil {
		return false, false, err
	}
	if err := p.ask(&leader, "inbox", "--all"); err != nil {
		return false, false, err
	}
	for _, m := range dora.Messages {
		replied = replied || m.From == "eve" && m.ReplyTo != ""
	}
	for _, m := range leader.Messages {
		reported = reported || m.From == "dora" && m.Status == "completed"
	}
	return replied, reported, nil
}
