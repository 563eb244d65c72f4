import type { Environment } from '../../support/program.js';

/** Production environment without the additions of the test support, because each failpoint reads a file. */
export const PRODUCTION: Environment = { NODE_ENV: 'production', GWK_FAILPOINT_DIR: '' };
