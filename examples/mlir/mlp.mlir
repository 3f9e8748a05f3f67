// Two layers, with the ranges of their values where they were observed, and a `main` that runs them.
func.func private @printMemrefF32(tensor<*xf32>) attributes {llvm.emit_c_interface}

func.func @mlp(%x: tensor<2x4xf32> {quadrant.stats = dense<[-1.0, 4.0]> : tensor<2xf32>})
    -> tensor<2x2xf32> {
  %w1 = arith.constant dense<[[ 0.8, -0.3,  0.5],
                              [-0.6,  0.9,  0.1],
                              [ 0.2,  0.4, -0.7],
                              [ 0.1, -0.2,  0.3]]> : tensor<4x3xf32>
  %w2 = arith.constant dense<[[0.7, -0.4], [0.3, 0.6], [-0.5, 0.2]]> : tensor<3x2xf32>
  %bias = arith.constant dense<[[0.1, -0.1, 0.2], [0.1, -0.1, 0.2]]> : tensor<2x3xf32>
  %hidden = linalg.matmul {quadrant.stats = dense<[-1.5, 3.0]> : tensor<2xf32>}
      ins(%x, %w1 : tensor<2x4xf32>, tensor<4x3xf32>) outs(%bias : tensor<2x3xf32>)
      -> tensor<2x3xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x2xf32>
  %sums = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = linalg.matmul {quadrant.stats = dense<[-2.0, 3.0]> : tensor<2xf32>}
      ins(%hidden, %w2 : tensor<2x3xf32>, tensor<3x2xf32>) outs(%sums : tensor<2x2xf32>)
      -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

func.func @main() {
  %x = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [0.5, 0.25, -1.0, 2.0]]> : tensor<2x4xf32>
  %y = call @mlp(%x) : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %any = tensor.cast %y : tensor<2x2xf32> to tensor<*xf32>
  call @printMemrefF32(%any) : (tensor<*xf32>) -> ()
  return
}
