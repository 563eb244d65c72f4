#!/usr/bin/env node
import { CommanderError } from 'commander';
import { note } from './command.js';
import { describeFailure, EXIT_CODES } from './errors.js';
import { findProgramName } from './program-name.js';
import { createProgram } from './program.js';

// The bundle is CommonJS, which has no await here.
createProgram(findProgramName([process.argv0, process.argv[1]]))
  .parseAsync()
  .catch((error: unknown) => {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : EXIT_CODES.usage[0];
    else {
      const { code, text } = describeFailure(error);
      note(text);
      process.exitCode = code;
    }
  });
