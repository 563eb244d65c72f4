/** The resources of the HTTP interface. OpenAPI components are named after the schemas that they export. */
export * from './availability.js';
export * from './console-account.js';
export * from './console-session.js';
export * from './content.js';
export * from './event.js';
export * from './event-data.js';
export * from './health.js';
export * from './instance.js';
export * from './interactive-status.js';
export * from './live.js';
export * from './media.js';
export * from './message.js';
export * from './opt-out.js';
export * from './pairing.js';
export * from './problem.js';
export * from './sandbox.js';
export * from './webhook.js';
