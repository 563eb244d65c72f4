import type { Environment } from '../../support/program.js';

/** As programs run in earnest, without what the harness brings for tests: each failpoint is a look at a file. */
export const IN_EARNEST: Environment = { NODE_ENV: 'production', GWK_FAILPOINT_DIR: '' };
