// Reads Kubernetes manifests of Jobs with the types of the API itself. A key that the API does not know, one that is given
// twice, or a value of another type is an error.
package main

import (
	"fmt"
	"os"

	batch "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	for _, path := range os.Args[1:] {
		text, err := os.ReadFile(path)
		job := batch.Job{}
		if err == nil {
			err = yaml.UnmarshalStrict(text, &job)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
		fmt.Printf("%s: %s %s %s\n", path, job.APIVersion, job.Kind, job.Name)
	}
}
