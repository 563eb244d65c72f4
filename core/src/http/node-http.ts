/**
 * node:http without undici. `import ... from 'node:http'` evaluates all exports, and the export WebSocket loads undici:
 * 13 MB of resident memory per engine.
 */
export const http = process.getBuiltinModule('node:http');
