package apiserver

import "time"

// SetHeartbeat changes how often quiet watches show that they live; before the server serves.
func (s *Server) SetHeartbeat(d time.Duration) { s.heartbeat = d }
