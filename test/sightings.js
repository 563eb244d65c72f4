// Says which answers of the interface's description no test has produced. Fails where there is one without a reason.
import { OPERATIONS } from '@gwk/api/http/operations';
import { openApiDocument } from '@gwk/api/openapi/document';
import { answersOf, readSightings, UNPRODUCED, unseen } from './support/api/contract/coverage.js';

const anywhere = 'https://example.org';
const answers = answersOf(openApiDocument({ operations: OPERATIONS, baseUrl: anywhere, docsUrl: anywhere }));
const missing = unseen(answers, readSightings(process.argv[2]));
for (const name of missing) console.log(`  no test has produced: ${name}`);
if (missing.length > 0) {
  console.log(`  ${missing.length} of ${answers.length}; ${UNPRODUCED.length} rows of reasons`);
}
process.exitCode = missing.length === 0 ? 0 : 1;
