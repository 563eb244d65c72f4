#!/usr/bin/env node
import { findProgramName } from './program-name.js';
import { createProgram } from './program.js';

await createProgram(findProgramName([process.argv0, process.argv[1]])).parseAsync();
