#!/usr/bin/env node
// Decodes one untrusted file in a process of its own, so that a crash does not reach the decoder.
import { main } from '@gwk/decoder/tool';

await main(process.argv[2]);
