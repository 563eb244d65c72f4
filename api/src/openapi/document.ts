import { LANGUAGES } from '@gwk/core/language';
import { PROBLEMS, buildProblemBody, Problem, type ProblemCode } from '@gwk/core/problems/problems';
import { ProblemOut } from '@gwk/core/resources/problem';
import { API_KEY_PREFIX } from '@gwk/core/scopes';
import type { Operation } from '../http/operation.js';
import { describeOperation, getTag, listProblems } from './describe.js';
import { HEADERS, Responses } from './responses.js';
import { describeWebhooks } from './webhooks.js';
import { SchemaBook, type JsonSchema } from './schema-book.js';

interface DocumentOptions {
  operations: readonly Operation[];
  baseUrl: string;
  docsUrl: string;
  /** Which interface the operations belong to; default: the HTTP interface. */
  of?: 'console';
}

export interface OpenApiDocument {
  openapi: string;
  info: JsonSchema;
  servers: JsonSchema[];
  tags: JsonSchema[];
  paths: Record<string, Record<string, JsonSchema>>;
  webhooks?: Record<string, JsonSchema>;
  components: Record<string, Record<string, JsonSchema>>;
}

/** Version of the interface. */
const VERSION = '0.1.0';

/** Builds the OpenAPI document from the tables of operations and problems and from the schemas. */
export function openApiDocument({ operations, baseUrl, docsUrl, of }: DocumentOptions): OpenApiDocument {
  const book = new SchemaBook();
  book.add(ProblemOut, 'output');
  const responses = new Responses();
  const paths: OpenApiDocument['paths'] = {};
  for (const operation of operations) {
    const item = (paths[operation.path] ??= {});
    item[operation.method.toLowerCase()] = describeOperation(operation, { book, responses });
  }
  const webhooks = of === 'console' ? undefined : describeWebhooks(book);
  const tags = [...new Set([...operations.map(getTag), ...(webhooks ? ['webhooks'] : [])])].sort();
  const users = { paths, responses: responses.components };
  return {
    openapi: '3.1.1',
    info: {
      ...(of === 'console' ? CONSOLE : INTERFACE),
      version: VERSION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    tags: tags.map((name) => ({ name, description: TAGS[name] ?? name })),
    paths,
    ...(webhooks && { webhooks }),
    components: {
      securitySchemes: of === 'console' ? { session: SESSION, platform: PLATFORM } : { apiKey: API_KEY },
      parameters: pickUsed('parameters', PARAMETERS, users),
      headers: pickUsed('headers', HEADERS, users),
      examples: problemExamples(docsUrl, operations),
      responses: responses.components,
      schemas: book.components,
    },
  };
}

/** Returns the components to which the users refer. */
function pickUsed(
  kind: string,
  components: Readonly<Record<string, JsonSchema>>,
  users: JsonSchema,
): Record<string, JsonSchema> {
  const text = JSON.stringify(users);
  return Object.fromEntries(
    Object.entries(components).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`)),
  );
}

const CONSOLE = {
  title: 'gwk console',
  summary: 'Sign in, and manage keys, members and accounts.',
  description: `The operations of the web console. They accept sessions, never API keys. A session may also call the operations of the [HTTP interface](/openapi.json), with the header \`X-Gwk-Account\`; its role decides which.

Refusals are \`application/problem+json\`, as in the HTTP interface.`,
};

const DESCRIPTION = `Sending is asynchronous: what is accepted answers \`202\` and leaves afterwards; progress is read, or arrives by webhook.

Every refusal is \`application/problem+json\` (RFC 9457); clients branch on \`type\`. A path that is not here answers \`404\` (\`not-found\`), a method that is not here \`405\` (\`method-not-allowed\`, with \`Allow\`). What is no HTTP request at all, or has headers over 16 kB, answers \`422\` or \`413\` on every path.

Answers may gain fields; a client ignores those that it does not know.`;

const INTERFACE = {
  title: 'gwk',
  summary: 'Send and receive messages on a messaging network through instances.',
  description: DESCRIPTION,
};

const TAGS: Readonly<Record<string, string>> = {
  account: 'The account of the request.',
  contacts: 'People who wrote or were written to.',
  conversations: 'One instance and one contact or group.',
  events: 'What happened in the last 90 days.',
  handoffs: 'Sign-in links for portals.',
  instances: 'Numbers: create, pair, observe.',
  invitations: 'Invitations to the account.',
  'key-approvals': 'API keys that people approve for programs on their machines.',
  keys: 'API keys.',
  media: 'Files for messages.',
  members: 'Members of the account.',
  messages: 'Send, change, read.',
  'opt-outs': 'Contacts that are not to be written to.',
  overview: 'The account at a glance.',
  platform: 'All accounts, numbers and programs, for administrators of the platform.',
  'password-resets': 'Forgotten passwords.',
  profile: 'The signed-in person.',
  session: 'Sign-in and sign-out.',
  status: 'Which interactive formats work.',
  'webhook-deliveries': 'Deliveries, sent again.',
  webhooks: 'Requests that endpoints receive.',
  'webhook-endpoints': 'Endpoints that receive events.',
};

const API_KEY: JsonSchema = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: `${API_KEY_PREFIX}...`,
  description: 'An API key. The scope that an operation needs stands with the operation.',
};

const SESSION: JsonSchema = {
  type: 'apiKey',
  in: 'cookie',
  name: 'gwk_session',
  description: 'The cookie of a sign-in; over HTTPS its name is `__Host-gwk_session`.',
};

const PLATFORM: JsonSchema = {
  type: 'http',
  scheme: 'bearer',
  description: 'GWK_API_CONSOLE_PLATFORM_TOKEN, for portals.',
};

const PARAMETERS: Record<string, JsonSchema> = {
  CsrfToken: {
    name: 'X-CSRF-Token',
    in: 'header',
    description: '`csrf_token` of the session.',
    schema: { type: 'string' },
  },
  Account: {
    name: 'X-Gwk-Account',
    in: 'header',
    description: 'The account of the request.',
    schema: { type: 'string', pattern: '^acc_[0-9a-f]{32}$' },
  },
  RequestId: {
    name: 'X-Request-ID',
    in: 'header',
    description:
      'Used in place of a generated id; one that is not 1 to 128 printable ASCII characters is replaced.',
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
  Language: {
    name: 'Accept-Language',
    in: 'header',
    description:
      'Language of texts for people: `pt` (default) or `en`. `Content-Language` names the one used.',
    schema: { type: 'string', examples: ['en'] },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A repeat within 24 hours with the same key and body gets the same answer and does nothing again.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'The `ETag` of the version to change; another one in force is answered with `412`.',
    schema: { type: 'string' },
  },
};

function problemExamples(docsUrl: string, operations: readonly Operation[]): Record<string, JsonSchema> {
  const answered = operations.flatMap((operation) => [...listProblems(operation).values()].flat());
  const codes = [...new Set(answered)].sort();
  const where = {
    docsUrl,
    path: '/v1/messages',
    requestId: '5f0c9f5e-7d1c-4b7a-9a43-0f6a3f1f7c10',
    language: LANGUAGES[0],
  };
  return Object.fromEntries(
    codes.map((code) => {
      const value = buildProblemBody(new Problem(code, EXTRAS[code]), where);
      return [code, { summary: PROBLEMS[code].title, value }];
    }),
  );
}

const EXTRAS: Partial<Record<ProblemCode, ConstructorParameters<typeof Problem>[1]>> = {
  'insufficient-scope': { required_scope: 'messages:send' },
  'validation-error': { errors: [{ path: 'text.body', code: 'custom', message: 'at least 1 characters' }] },
};
