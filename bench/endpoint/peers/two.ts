/** Two listeners in one process, as a supervisor has one for each Session process. Announces both ports. */
import { benchEndpoint } from "../our-endpoint.ts"

const [first, second] = [benchEndpoint(), benchEndpoint()]
console.log(`${first.port} ${second.port}`)
