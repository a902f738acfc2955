package apiserver

import "time"

// SetHeartbeat changes how often quiet watches show that they live; before the server serves.
func (s *Server) SetHeartbeat(d time.Duration) { s.heartbeat = d }

// SetStartPatience changes how long a request waits for the registry; before the server serves.
func (s *Server) SetStartPatience(d time.Duration) { s.startPatience = d }
