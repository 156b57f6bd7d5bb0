// Calls of Debian's gophercloud to the cloud that the environment names, a JSON object a line: name, and error unless it went well.
// A call that fails ends the run of its service; what it would have made, the later ones need.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack"
)

type cloud struct {
	provider *gophercloud.ProviderClient
	userID   string
	project  string
}

// step is one call, or a wait of several.
type step struct {
	name string
	call func() error
}

func (c cloud) client(make func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)) *gophercloud.ServiceClient {
	client, err := make(c.provider, gophercloud.EndpointOpts{Region: os.Getenv("OS_REGION_NAME")})
	exit(err)
	return client
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(service string, steps []step) {
	out := json.NewEncoder(os.Stdout)
	for _, each := range steps {
		line := map[string]string{"name": service + ": " + each.name}
		err := each.call()
		if err != nil {
			line["error"] = err.Error()
		}
		exit(out.Encode(line))
		if err != nil {
			return
		}
	}
}

// must says that a value that was read is the one that is right.
func must(what string, got, want interface{}) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("%s: found %v, expected %v", what, got, want)
	}
	return nil
}

func main() {
	opts, err := openstack.AuthOptionsFromEnv()
	exit(err)
	provider, err := openstack.AuthenticatedClient(opts)
	exit(err)
	c := cloud{provider: provider}
	run("identity", identity(&c))
	run("image", images(c))
	run("placement", placement(c))
	run("compute", compute(c))
	run("servers", servers(c))
}
