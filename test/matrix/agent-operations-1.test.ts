import { testShard } from "../fixtures/fault-matrix/shard.js";

testShard(0);
