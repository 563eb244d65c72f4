// Lints the OpenAPI documents. Warnings fail too.
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { CONSOLE_OPERATIONS, OPERATIONS } from '@gwk/api/public-api/operations';
import { openApiDocument } from '@gwk/api/openapi/document';

const address = 'https://api.example.org';
const urls = { baseUrl: address, docsUrl: address };
const documents = {
  'openapi.json': openApiDocument({ operations: OPERATIONS, ...urls }),
  'console-openapi.json': openApiDocument({ operations: CONSOLE_OPERATIONS, of: 'console', ...urls }),
};
// Only clients refer to the union of all webhooks.
const UNUSED = '#/components/schemas/WebhookOut';
const config = await createConfig({ extends: ['recommended-strict'] });
const problems = [];
for (const [absoluteRef, document] of Object.entries(documents)) {
  const found = await lintFromString({ source: JSON.stringify(document), absoluteRef, config });
  problems.push(...found.filter(({ location }) => location[0]?.pointer !== UNUSED));
}
for (const { ruleId, message, location } of problems) {
  process.stdout.write(`${location[0]?.pointer ?? ''}\n  ${ruleId}: ${message}\n`);
}
process.exitCode = problems.length === 0 ? 0 : 1;
