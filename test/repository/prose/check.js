import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { judgeNames, judgeTexts, averageWords, MAX_AVERAGE_WORDS } from './rules.js';
import { readProse } from './text.js';

/** Product code, SQL, chart and docs; tests are left to review. */
const CHECKED =
  /^(?:(?:api|core|decoder|operator|engine-pod|local|cli|images|bin|scripts|charts|docs|examples)\/.*|[^/]+)\.(?:ts|js|sql|prisma|md|ya?ml|tpl|txt)$/;
const SKIPPED =
  /\.test\.ts$|\/generated\/|^THIRD-PARTY\.md$|^CODE_OF_CONDUCT\.md$|^charts\/[^/]+\/dashboards\//;

const given = process.argv.slice(2);
const files = execFileSync(
  'git',
  ['ls-files', '-z', '--cached', '--others', '--exclude-standard', ...given],
  {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  },
)
  .split('\0')
  .filter((path) => CHECKED.test(path) && !SKIPPED.test(path));

let findings = 0;
for (const path of files) {
  const { texts, names } = readProse(path, readFileSync(path, 'utf8'));
  const found = [...judgeTexts(path, texts), ...judgeNames(path, names)].sort((a, b) => a.line - b.line);
  if (path.endsWith('.md')) {
    const average = averageWords(texts);
    if (average > MAX_AVERAGE_WORDS) {
      found.push({ line: 1, rule: `sentences of ${average.toFixed(1)} words on average`, text: '' });
    }
  }
  for (const { line, rule, text } of found) console.log(`${path}:${line}: ${rule}: ${text.slice(0, 160)}`);
  findings += found.length;
}
console.log(`${findings} findings in ${files.length} files`);
process.exit(findings === 0 ? 0 : 1);
