package main
import ("os";"github.com/seed6990a682/teams/internal/fsx")
func main(){ if len(os.Args)>3 { fsx.NewWatcher(0); fsx.Publish(os.Args[1],nil); fsx.Replace("",nil); fsx.TryAcquire("") } }
