import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { takeData } from '../../api/client';
import { useAccount } from '../../app/account';
import { ProblemAlert } from '../../ui/problem-alert';
import type { Instance } from '../queries';
import type { Pairing } from './use-pairing';

interface PasskeyViewProps {
  instance: Instance;
  passkey: NonNullable<Pairing['passkey']>;
}

/** The phone waits for its passkey, which only a page of the network can ask for. Then both sides compare a code. */
export function PasskeyView({ instance, passkey }: PasskeyViewProps) {
  const { t, i18n } = useTranslation();
  const { api } = useAccount();
  const params = { path: { instance_id: instance.id } };
  const compare = useMutation({
    mutationFn: (equal: boolean) =>
      takeData(api.POST('/v1/instances/{instance_id}/pairing/passkey/confirm', { params, body: { equal } })),
  });
  if (passkey.code === null) {
    const time = passkey.expiresAt.toLocaleTimeString(i18n.language);
    return <Text role="status">{t('pairing.passkey.request', { time })}</Text>;
  }
  return (
    <Stack align="center" role="status">
      <Text>{t('pairing.passkey.compare')}</Text>
      <Text fz={40} fw={700} ff="monospace" lts={4} data-testid="passkey-code">
        {passkey.code}
      </Text>
      <Group>
        <Button loading={compare.isPending} disabled={compare.isSuccess} onClick={() => compare.mutate(true)}>
          {t('pairing.passkey.equal')}
        </Button>
        <Button
          variant="default"
          disabled={compare.isPending || compare.isSuccess}
          onClick={() => compare.mutate(false)}
        >
          {t('pairing.passkey.different')}
        </Button>
      </Group>
      <ProblemAlert error={compare.error} />
    </Stack>
  );
}
