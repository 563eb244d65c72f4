import type { Command } from 'commander';
import { integer, print, runCommand } from './run.js';

const seconds = integer(0, 86_400);

const SETTINGS =
  '\nSettings are environment variables (docs/configuration.md). Ends with 2 where they are wrong.\n';

/** `gwk api`, `gwk worker`, `gwk migrate`, `gwk openapi`. */
export function registerPrograms(program: Command): void {
  program
    .command('api')
    .description('serve the HTTP API, and the internal port of engines and operator')
    .addHelpText('after', SETTINGS)
    .action(async () => {
      const { runApi } = await import('../programs/api.js');
      await runApi(process.env);
    });

  program
    .command('worker')
    .description('deliver webhooks, expire and release messages, apply retention')
    .addHelpText('after', SETTINGS)
    .action(async () => {
      const { runWorker } = await import('../programs/worker.js');
      await runWorker(process.env);
    });

  program
    .command('migrate')
    .description('bring the database of DATABASE_URL up to date')
    .option('--wait', 'apply nothing; wait until others have applied all that this version brings')
    .option(
      '--timeout <seconds>',
      'how long to wait for Postgres, and with --wait for the migrations',
      seconds,
      0,
    )
    .addHelpText(
      'after',
      '\nPrints the migrations applied now, as JSON. Repeatable; waits for others that migrate.\n',
    )
    .action(({ wait = false, timeout }: { wait?: boolean; timeout: number }) =>
      runCommand('migrate', async ({ databaseUrl: url, databaseCa: ca }) => {
        const { migrate } = await import('../database/migrate.js');
        const { patiently, untilMigrated } = await import('../database/wait-for-migrations.js');
        const patienceMs = timeout * 1000;
        if (wait) print({ waited_ms: await untilMigrated({ url, ca }, { patienceMs }) });
        else print({ applied: await patiently({ patienceMs }, () => migrate({ url, ca })) });
      }),
    );

  program
    .command('openapi')
    .description(
      'print the description of the HTTP interface (OpenAPI 3.1), which the API serves at /openapi.json',
    )
    .option('--base-url <url>', 'address of the API', 'http://127.0.0.1:8080')
    .action(async ({ baseUrl }: { baseUrl: string }) => {
      const { openApiDocument } = await import('../openapi/document.js');
      const { OPERATIONS } = await import('../public-api/operations.js');
      print(openApiDocument({ operations: OPERATIONS, baseUrl, docsUrl: baseUrl }));
    });
}
