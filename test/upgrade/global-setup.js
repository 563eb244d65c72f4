// The tier upgrade runs the API of this version with the SQL functions of the former release (test/support/servers/database.ts).
process.env.TEST_FORMER_FUNCTIONS = '1';

export { default } from '../global-setup.js';
