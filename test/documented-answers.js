// Lists documented answers that no test has produced. Fails if one has no reason.
import './support/typescript.js';

const { CONSOLE_OPERATIONS, OPERATIONS } = await import('@gwk/api/public-api/operations');
const { openApiDocument } = await import('@gwk/api/openapi/document');
const { listAnswers, readSeenAnswers, UNPRODUCED, unseen } =
  await import('@gwk/test/support/api/contract/coverage');

const anywhere = 'https://example.org';
const answers = [OPERATIONS, CONSOLE_OPERATIONS].flatMap((operations) =>
  listAnswers(openApiDocument({ operations, baseUrl: anywhere, docsUrl: anywhere })),
);
const missing = unseen(answers, readSeenAnswers(process.argv[2]));
for (const name of missing) console.log(`  no test has produced: ${name}`);
if (missing.length > 0) {
  console.log(`  ${missing.length} of ${answers.length}; ${UNPRODUCED.length} rows of reasons`);
}
process.exitCode = missing.length === 0 ? 0 : 1;
