/** Configuration files of nodes: containerd, CNI, kubelet and kube-proxy. */
export const BRIDGE = 'gwkpods0';
/** Address of the bridge: default gateway of all pods and address of the DNS server. */
export const GATEWAY = '10.85.0.1';
const PODS = '10.85.0.0/16';
export const PAUSE_IMAGE = 'docker.io/gwk/pause:1';

export const cniConfig = (state: string): string =>
  JSON.stringify({
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: BRIDGE,
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        // Nodes on one machine share the bridge, and so the list of allocated addresses.
        ipam: {
          type: 'host-local',
          dataDir: state,
          ranges: [[{ subnet: PODS }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });

export interface ContainerdPlaces {
  folder: string;
  socket: string;
  /** CNI configuration and plugins. */
  cni: { config: string; plugins: string };
  /** Folder with the addresses of registries. */
  registries: string;
}

/** Every registry that a reference names is this one. */
export const registriesConfig = (host: string): string => `server = "http://${host}"\n`;

export const containerdConfig = ({
  folder,
  socket,
  cni,
  registries,
}: ContainerdPlaces): string => `version = 3
root = "${folder}/root"
state = "${folder}/state"
[grpc]
  address = "${socket}"
[ttrpc]
  address = "${socket}.ttrpc"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "${PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "${registries}"
[plugins."io.containerd.nri.v1.nri"]
  # Its socket has one place on a machine, and two that start at once would take it from each other.
  disable = true
[plugins."io.containerd.cri.v1.runtime"]
  # Machines without CAP_SYS_RESOURCE may not make a process harder to kill.
  restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["${cni.plugins}"]
  conf_dir = "${cni.config}"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
    SystemdCgroup = false
`;

export interface KubeletPorts {
  kubelet: number;
  health: number;
}

/** Each kubelet has its own cgroup, so kubelets on one machine do not kill each other's pods as orphans. */
export interface KubeletPlaces {
  socket: string;
  cgroup: string;
  /** Nodes on one machine must not share it: each kubelet deletes logs of pods that it does not know. */
  logs: string;
}

export const kubeletConfig = ({ socket, cgroup, logs }: KubeletPlaces, ports: KubeletPorts): string =>
  JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    podLogsDir: logs,
    containerRuntimeEndpoint: `unix://${socket}`,
    failSwapOn: false,
    oomScoreAdj: 0,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    evictionHard: { 'nodefs.available': '0%', 'imagefs.available': '0%', 'memory.available': '0%' },
    imageGCHighThresholdPercent: 100,
    serializeImagePulls: false,
    // Readers import images under other names that this kubelet has pulled. It would pull those names, too, to check that
    // their pods may have the content.
    imagePullCredentialsVerificationPolicy: 'NeverVerify',
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    port: ports.kubelet,
    healthzPort: ports.health,
    clusterDNS: [GATEWAY],
    clusterDomain: 'cluster.local',
  });

export const proxyConfig = (kubeconfig: string, ports: { metrics: number; health: number }): string =>
  JSON.stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'iptables',
    clusterCIDR: PODS,
    // Otherwise responses between pods of one bridge would bypass the address translation.
    iptables: { masqueradeAll: true },
    clientConnection: { kubeconfig },
    conntrack: { maxPerCore: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    metricsBindAddress: `127.0.0.1:${ports.metrics}`,
    healthzBindAddress: `127.0.0.1:${ports.health}`,
  });

export const dnsConfig = (kubeconfig: string): string => `.:53 {
  bind ${GATEWAY}
  errors
  cache 5
  kubernetes cluster.local {
    kubeconfig ${kubeconfig}
    ttl 1
  }
  forward . /etc/resolv.conf
}
`;
