// npm run release:functions: writes the SQL functions of this version to functions.sql. Each release runs it once.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readFunctions } from '@gwk/api/database/sql-functions';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const { version } = JSON.parse(readFileSync(path('../../package.json'), 'utf8'));
const functions = readFunctions(path('../../api/src')).map(({ sql }) => sql.replace(/^ *--.*\n/gm, ''));
writeFileSync(
  path('functions.sql'),
  [`-- SQL functions of gwk ${version} (snapshot.js).\n`, ...functions].join('\n'),
);
