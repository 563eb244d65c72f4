import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { defineConfig } from 'prisma/config';

// schema-engine.js replaces the native schema engine only if that one could not be downloaded.
const prisma = createRequire(import.meta.url).resolve('prisma/package.json');
const engines = dirname(createRequire(prisma).resolve('@prisma/engines/package.json'));
if (!readdirSync(engines).some((name) => name.startsWith('schema-engine-'))) {
  process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= new URL('prisma/schema-engine.js', import.meta.url).pathname;
}

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: {
    url: process.env.DATABASE_URL ?? '',
    ...(process.env.SHADOW_DATABASE_URL && { shadowDatabaseUrl: process.env.SHADOW_DATABASE_URL }),
  },
});
