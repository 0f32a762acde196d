// Package protocol is what a primacy program and its plugins send to each other: gRPC over a
// socket of hashicorp/go-plugin, with certificates made for each run. runner.proto describes it;
// the rest is generated from that, and committed.
//
// `go generate` needs protoc (Debian: apt-get install protobuf-compiler); its two plugins are
// pinned in go.mod as tools.
package protocol

//go:generate sh -c "protoc --plugin=$(go tool -n protoc-gen-go) --plugin=$(go tool -n protoc-gen-go-grpc) --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative runner.proto"
