/** The layers of api/src, from the entry points down. A folder imports those of the layers below its own. */
const API_LAYERS = [
  ['cli'],
  ['programs'],
  ['public-api', 'jobs'],
  ['internal-api'],
  ['inbound', 'console'],
  ['engines', 'webhooks', 'probes', 'people'],
  ['live', 'media'],
  ['messages'],
  ['contacts', 'conversations', 'instances'],
  ['message-status', 'alerts', 'client-version'],
  ['events', 'engine-commands', 'openapi'],
  ['http'],
  ['accounts', 'fencing'],
  ['platform', 'mail'],
  ['database', 'config', 'resources'],
  ['policy', 'roles'],
];
/** Layers of features: below the entry points, above `http`. */
const FEATURES = API_LAYERS.slice(
  4,
  API_LAYERS.findIndex(([name]) => name === 'http'),
).flat();
/** Folders inside a feature that other features may not import. */
const INSIDES =
  'messages/(send|edit|interactive-status)|webhooks/delivery|media/prepare|instances/(availability|health)';

/** The layers of engine-pod/src, from the entry points down. Folders of one layer do not import each other. */
const ENGINE_LAYERS = [
  ['cli', 'program', 'engine', 'engine-parts', 'exit-codes'],
  ['commands'],
  ['redis'],
  ['connection', 'sends'],
  ['internal-api'],
  ['driver'],
  ['batch-sender', 'clock', 'metrics', 'small-heap'],
];
const ENGINE_FEATURES = ENGINE_LAYERS[3];

const inApi = (folders) => `^api/src/(${folders.join('|')})(/|\\.ts$)`;
const inEngine = (folders) => `^engine-pod/src/(${folders.join('|')})(/|\\.ts$)`;

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Files that import each other, also by types alone, have no reading order.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...API_LAYERS.map((layer, index) => ({
      name: `api-layer-${layer[0]}`,
      comment: `${layer.join(', ')} may import neither each other nor a layer above them.`,
      severity: 'error',
      from: { path: inApi(layer) },
      to: { path: inApi(API_LAYERS.slice(0, index + 1).flat()), pathNot: '^api/src/$1/' },
    })),
    {
      name: 'api-feature-insides',
      comment: 'A feature imports the files of another feature that stand at its top.',
      severity: 'error',
      from: { path: `^api/src/(${FEATURES.join('|')})/` },
      to: { path: `^api/src/(${INSIDES})/`, pathNot: '^api/src/$1/' },
    },
    ...ENGINE_LAYERS.slice(1).map((layer, index) => ({
      name: `engine-layer-${layer[0]}`,
      comment: `${layer.join(', ')} may not import a layer above them.`,
      severity: 'error',
      from: { path: inEngine(layer) },
      to: { path: inEngine(ENGINE_LAYERS.slice(0, index + 1).flat()) },
    })),
    {
      name: 'engine-features-apart',
      comment: `${ENGINE_FEATURES.join(' and ')} do not know each other: engine.ts connects them.`,
      severity: 'error',
      from: { path: `^engine-pod/src/(${ENGINE_FEATURES.join('|')})/` },
      to: { path: inEngine(ENGINE_FEATURES), pathNot: '^engine-pod/src/$1/' },
    },
    {
      name: 'engine-drivers-apart',
      comment: 'A driver imports no other driver, and drivers know the engine by driver.ts only.',
      severity: 'error',
      from: { path: '^engine-pod/src/driver/(baileys|sandbox)/' },
      to: {
        path: '^engine-pod/src/driver/(baileys|sandbox|create\\.ts)',
        pathNot: '^engine-pod/src/driver/$1/',
      },
    },
    {
      name: 'decoder-without-secrets',
      comment:
        'The decoder works on files of strangers. It imports no database, no keys and no settings of others.',
      severity: 'error',
      from: { path: '^decoder/src/' },
      to: {
        path: '^@gwk/core/(crypto/|config/(?!decoder$|load$))|^@gwk/(?!core/)|(^|node_modules/)(pg|redis|@prisma)/',
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules|/dist/' },
    exclude: { path: '/generated/|\\.test\\.ts$|\\.d\\.ts$' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js'] },
  },
};
