module kubedl.io/testbed/tools/pause

go 1.26.8
