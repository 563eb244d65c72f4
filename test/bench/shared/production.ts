import type { Environment } from '../../support/program.js';

/** As programs run in earnest, without what the test support adds: each failpoint is a look at a file. */
export const PRODUCTION: Environment = { NODE_ENV: 'production', GWK_FAILPOINT_DIR: '' };
