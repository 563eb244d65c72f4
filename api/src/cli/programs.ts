import type { Command } from 'commander';
import { parseInteger, print, runCommand } from './run.js';

const seconds = parseInteger(0, 86_400);

const SETTINGS =
  '\nSettings are environment variables (docs/configuration.md). Exits with code 2 if one is invalid.\n';

/** `gwk api`, `gwk worker`, `gwk migrate`, `gwk openapi`. */
export function registerPrograms(program: Command): void {
  program
    .command('api')
    .description('run the HTTP API and the internal API for engines and operator')
    .addHelpText('after', SETTINGS)
    .action(async () => {
      const { runApi } = await import('../programs/api.js');
      await runApi(process.env);
    });

  program
    .command('worker')
    .description('run the worker: webhooks, media, schedules, retention')
    .addHelpText('after', SETTINGS)
    .action(async () => {
      const { runWorker } = await import('../programs/worker.js');
      await runWorker(process.env);
    });

  program
    .command('migrate')
    .description('apply migrations and SQL functions to the database in DATABASE_URL')
    .option('--wait', 'apply nothing; wait until all migrations of this version have been applied')
    .option(
      '--timeout <seconds>',
      'time to wait for Postgres, and with --wait for the migrations',
      seconds,
      0,
    )
    .addHelpText(
      'after',
      '\nPrints the applied migrations and functions as JSON. Safe to repeat; waits for concurrent migrations.\n',
    )
    .action(({ wait = false, timeout }: { wait?: boolean; timeout: number }) =>
      runCommand('migrate', async ({ databaseUrl: url, databaseCa: ca }) => {
        const { migrate, retryWhileUnavailable, waitForMigrations } = await import('../database/migrate.js');
        const { detectPooling, requireSession } = await import('../database/pooler.js');
        const timeoutMs = timeout * 1000;
        const check = wait ? detectPooling : requireSession;
        await retryWhileUnavailable<unknown>({ timeoutMs }, () => check({ url, ca }));
        if (wait) print({ waited_ms: await waitForMigrations({ url, ca }, { timeoutMs }) });
        else print({ applied: await retryWhileUnavailable({ timeoutMs }, () => migrate({ url, ca })) });
      }),
    );

  program
    .command('openapi')
    .description('print the OpenAPI 3.1 document of the HTTP API (also served at /openapi.json)')
    .option('--base-url <url>', 'address of the API', 'http://127.0.0.1:8080')
    .action(async ({ baseUrl }: { baseUrl: string }) => {
      const { openApiDocument } = await import('../openapi/document.js');
      const { OPERATIONS } = await import('../public-api/operations.js');
      print(openApiDocument({ operations: OPERATIONS, baseUrl, docsUrl: baseUrl }));
    });
}
