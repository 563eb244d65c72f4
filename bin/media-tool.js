#!/usr/bin/env node
// One file of a stranger, decoded in a process of its own (api/src/media/tools): a crash is its own, not the worker's.
import { main } from '@gwk/api/media/tools/tool';

await main(process.argv[2]);
