// Calls of Debian's gophercloud to the cloud of the environment. Prints a JSON object per line: name, and error if the call failed.
// A failed call ends the run of its service, since later calls need the objects that it creates.
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

// step is one call, or a wait with several.
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

// must checks that a value is the expected one.
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
