import { benchEndpoint } from "../our-endpoint.ts"
import { announce } from "../workload.ts"

announce(benchEndpoint().port)
