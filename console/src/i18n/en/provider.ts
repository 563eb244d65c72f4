export const provider = {
  signIn: 'Sign in with {{name}}',
  failed: 'The sign-in with the provider did not succeed. You can start it again.',
  again: 'Back to the sign-in',
};
