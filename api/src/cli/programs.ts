import type { Command } from 'commander';
import { print, runCommand } from './run.js';

const SETTINGS =
  '\nSettings are environment variables (docs/configuration.md). Ends with 2 where they are wrong.\n';

/** `gwk api`, `gwk worker`, `gwk migrate`, `gwk openapi`. */
export function registerPrograms(program: Command): void {
  program
    .command('api')
    .description('serve the HTTP API, and the internal port of engines and operator')
    .addHelpText('after', SETTINGS)
    .action(async () => {
      const { runApi } = await import('../program.js');
      await runApi(process.env);
    });

  program
    .command('worker')
    .description('deliver webhooks, expire and release messages, apply retention')
    .addHelpText('after', SETTINGS)
    .action(async () => {
      const { runWorker } = await import('../worker/program.js');
      await runWorker(process.env);
    });

  program
    .command('migrate')
    .description('bring the database of DATABASE_URL up to date')
    .addHelpText(
      'after',
      '\nPrints the migrations applied now, as JSON. Repeatable; waits for others that migrate.\n',
    )
    .action(() =>
      runCommand('migrate', async ({ databaseUrl }) => {
        const { migrate } = await import('../migrate.js');
        print({ applied: await migrate(databaseUrl) });
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
      const { OPERATIONS } = await import('../http/operations.js');
      print(openApiDocument({ operations: OPERATIONS, baseUrl, docsUrl: baseUrl }));
    });
}
