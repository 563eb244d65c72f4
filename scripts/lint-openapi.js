// Lints the OpenAPI document. Warnings fail too.
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { OPERATIONS } from '@gwk/api/public-api/operations';
import { openApiDocument } from '@gwk/api/openapi/document';

const address = 'https://api.example.org';
const document = openApiDocument({ operations: OPERATIONS, baseUrl: address, docsUrl: address });
const problems = await lintFromString({
  source: JSON.stringify(document),
  absoluteRef: 'openapi.json',
  config: await createConfig({ extends: ['recommended-strict'] }),
});
for (const { ruleId, message, location } of problems) {
  process.stdout.write(`${location[0]?.pointer ?? ''}\n  ${ruleId}: ${message}\n`);
}
process.exitCode = problems.length === 0 ? 0 : 1;
