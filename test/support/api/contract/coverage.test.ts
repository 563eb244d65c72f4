import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OPERATIONS } from '@gwk/api/public-api/operations';
import { openApiDocument } from '@gwk/api/openapi/document';
import { listAnswers, readSeenAnswers, unseen } from './coverage.js';

const document = openApiDocument({
  operations: OPERATIONS,
  baseUrl: 'https://example.org',
  docsUrl: 'https://example.org',
});

test('lists each operation with each status and each problem of that status', () => {
  const answers = listAnswers(document);
  expect(answers).toContain('getInstance 200');
  expect(answers).toContain('getInstance 404 not-found');
  expect(answers).toContain('createInstance 409 instance-name-taken');
  expect(answers).not.toContain('getInstance 404');
  expect(new Set(answers).size).toBe(answers.length);
});

test('merges answers of all processes, skips excused ones and lists the rest', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-answers-'));
  writeFileSync(join(folder, '1.txt'), 'a 200\nb 404 not-found\n');
  writeFileSync(join(folder, '2.txt'), 'a 200\nc 204\n');
  const seen = readSeenAnswers(folder);
  rmSync(folder, { recursive: true });
  const excused = [{ answer: /^d /, reason: 'cannot happen' }];
  expect(unseen(['a 200', 'b 404 not-found', 'b 404 gone', 'c 204', 'd 500'], seen, excused)).toEqual([
    'b 404 gone',
  ]);
});
