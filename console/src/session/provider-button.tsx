import { Button, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'react-router';
import { ProblemAlert } from '../ui/problem-alert';
import { visitProvider } from './provider';

/** Signs in with the provider of the organization, and then opens the page that was asked for. */
export function ProviderButton({ name, isOnly }: { name: string; isOnly: boolean }) {
  const { t } = useTranslation();
  const { pathname, search, hash } = useLocation();
  // The sign-in accepts the invitation of a person without an account; others open the link again.
  const path = pathname === '/invitation' ? '/' : pathname + search + hash;
  const visit = useMutation({ mutationFn: () => visitProvider(path) });
  return (
    <Stack>
      <ProblemAlert error={visit.error} />
      <Button
        variant={isOnly ? 'filled' : 'default'}
        loading={visit.isPending}
        onClick={() => visit.mutate()}
        fullWidth
      >
        {t('provider.signIn', { name })}
      </Button>
    </Stack>
  );
}
